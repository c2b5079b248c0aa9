// ask has the engine behind a port answer a request for a path, and comes to its answer. It gives
// up when signal is aborted.
async function ask(port, request, path, signal) {
  signal.throwIfAborted();
  const bare = request.method === 'GET' || request.method === 'HEAD';
  const body = bare ? null : request.body ?? (await request.blob()).stream(); // Firefox has no body
  const {port1, port2} = new MessageChannel(), answered = Promise.withResolvers();
  port1.onmessage = ({data}) => {
    if (data.failed) answered.reject(new TypeError(data.failed));
    else answered.resolve(data);
  };
  signal.addEventListener('abort', () => {
    port1.postMessage('gone');
    answered.reject(signal.reason);
  });
  port.postMessage({method: request.method, path, headers: [...request.headers], body}, body ? [port2, body] : [port2]);
  const {down: why, status, headers, body: stream} = await answered.promise;
  return why ? down(why) : new Response(stream?.pipeThrough(new TransformStream(), {signal}), {status, headers});
}

// down is the answer where there is no engine.
function down(message) {
  return new Response(JSON.stringify({error: {message, type: 'server_error', param: null, code: 'engine_not_running'}}),
    {status: 503, headers: {'Content-Type': 'application/json', 'Retry-After': '1'}});
}
