package wire

func (f *finder) derive() *Format { return nil }
