package model_test

func seedJitter() {}
