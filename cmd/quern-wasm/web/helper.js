// A thread that helps quern's worker multiply: an instance of the kernels in its memory,
// which takes rows of matrices until the worker ends.
'use strict';

onmessage = ({data: {module, memory, patience}}) => {
  const {exports} = new WebAssembly.Instance(module, {go: {mem: memory}, team: {lost() {}}});
  exports.help(patience);
};
