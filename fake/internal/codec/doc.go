// Package codec speaks the API's content types: JSON and protobuf, for single objects, lists and watch events, with client-go's own serializers.
package codec
