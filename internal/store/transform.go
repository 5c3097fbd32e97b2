package store

// DistrustItems says that Decode changes what items say: that a value may have another
// key, and other index values, than its item. Then items are decoded to be found. It
// must not be called once the store is fed.
func (s *Store[V]) KeyFromObject() {
	s.writer.Lock()
	defer s.writer.Unlock()
	s.config.ItemKeys, s.config.ItemIndexers = false, nil
}
