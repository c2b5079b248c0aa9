//go:build cuda && linux

package driver

import (
	"fmt"
	"os"

	"github.com/ebitengine/purego"
)

// Built reports whether this program can load the driver.
const Built = true

// api holds the addresses of the driver's functions.
type api struct {
	init, version, errorName, errorText                     uintptr
	deviceCount, device, deviceName, deviceMemory, deviceIs uintptr
	contextNew, contextClose, contextSet, memory            uintptr
	alloc, free, pinned, freePinned                         uintptr
	upload, download, copyWithin, zero                      uintptr
	streamNew, streamSync                                   uintptr
	eventNew, eventRecord, eventSync, eventTime             uintptr
	module, kernel, kernelSet, launch                       uintptr
	captureBegin, captureEnd, graphMake, graphFree          uintptr
	replay, graphClose                                      uintptr
}

// libraries are where libcuda is looked for; QUERN_LIBCUDA names another place.
var libraries = []string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1"}

// load finds libcuda and its functions.
func load() (*api, error) {
	names := libraries
	if path := os.Getenv("QUERN_LIBCUDA"); path != "" {
		names = []string{path}
	}
	var (
		h   uintptr
		err error
	)
	for _, name := range names {
		if h, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	a := &api{}
	// The names with _v2 are what cuda.h maps the plain ones to.
	for _, f := range []struct {
		to   *uintptr
		name string
	}{
		{&a.init, "cuInit"},
		{&a.version, "cuDriverGetVersion"},
		{&a.errorName, "cuGetErrorName"},
		{&a.errorText, "cuGetErrorString"},
		{&a.deviceCount, "cuDeviceGetCount"},
		{&a.device, "cuDeviceGet"},
		{&a.deviceName, "cuDeviceGetName"},
		{&a.deviceMemory, "cuDeviceTotalMem_v2"},
		{&a.deviceIs, "cuDeviceGetAttribute"},
		{&a.contextNew, "cuCtxCreate_v2"},
		{&a.contextClose, "cuCtxDestroy_v2"},
		{&a.contextSet, "cuCtxSetCurrent"},
		{&a.memory, "cuMemGetInfo_v2"},
		{&a.alloc, "cuMemAlloc_v2"},
		{&a.free, "cuMemFree_v2"},
		{&a.pinned, "cuMemHostAlloc"},
		{&a.freePinned, "cuMemFreeHost"},
		{&a.upload, "cuMemcpyHtoDAsync_v2"},
		{&a.download, "cuMemcpyDtoHAsync_v2"},
		{&a.copyWithin, "cuMemcpyDtoDAsync_v2"},
		{&a.zero, "cuMemsetD8Async"},
		{&a.streamNew, "cuStreamCreate"},
		{&a.streamSync, "cuStreamSynchronize"},
		{&a.eventNew, "cuEventCreate"},
		{&a.eventRecord, "cuEventRecord"},
		{&a.eventSync, "cuEventSynchronize"},
		{&a.eventTime, "cuEventElapsedTime"},
		{&a.module, "cuModuleLoadDataEx"},
		{&a.kernel, "cuModuleGetFunction"},
		{&a.kernelSet, "cuFuncSetAttribute"},
		{&a.launch, "cuLaunchKernel"},
		{&a.captureBegin, "cuStreamBeginCapture_v2"},
		{&a.captureEnd, "cuStreamEndCapture"},
		{&a.graphMake, "cuGraphInstantiateWithFlags"},
		{&a.graphFree, "cuGraphDestroy"},
		{&a.replay, "cuGraphLaunch"},
		{&a.graphClose, "cuGraphExecDestroy"},
	} {
		if *f.to, err = purego.Dlsym(h, f.name); err != nil {
			return nil, fmt.Errorf("%w: the driver is too old: %w", ErrUnavailable, err)
		}
	}
	return a, nil
}
