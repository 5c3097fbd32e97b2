package pack

// len returns how many bases are in the table, garbage or not.
func (o *owners) len() (n int) {
	for i := range o.shards {
		s := &o.shards[i]
		s.mu.Lock()
		n += len(s.bases)
		s.mu.Unlock()
	}
	return n
}
