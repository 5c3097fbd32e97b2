realtime :=
