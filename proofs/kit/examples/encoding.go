package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// object is an object of JSON.
type object = map[string]any

// get returns a member of a type, and the zero value if it has another one.
func get[T any](members object, name string) T {
	value, _ := members[name].(T)
	return value
}

func parseObject(data []byte) (members object) {
	err := json.Unmarshal(data, &members)
	require(err == nil && members != nil && utf8.Valid(data), "an object of JSON")
	return members
}

// jcs returns the canonical form of RFC 8785.
func jcs(value any) string {
	switch value := value.(type) {
	case object:
		names := make([]string, 0, len(value))
		for name := range value {
			names = append(names, name)
		}
		sort.Slice(names, func(i, j int) bool { return utf16Key(names[i]) < utf16Key(names[j]) })
		for i, name := range names {
			names[i] = jcs(name) + ":" + jcs(value[name])
		}
		return "{" + strings.Join(names, ",") + "}"
	case []any:
		items := make([]string, len(value))
		for i, item := range value {
			items[i] = jcs(item)
		}
		return "[" + strings.Join(items, ",") + "]"
	case string:
		return `"` + escaper.Replace(value) + `"`
	}
	if value == 0.0 {
		return "0" // also for -0
	}
	data, err := json.Marshal(value) // as ECMAScript does
	require(err == nil, "a value with a canonical form")
	return string(data)
}

// escaper writes the escapes that RFC 8785 requires.
var escaper = func() *strings.Replacer {
	pairs := []string{`"`, `\"`, `\`, `\\`, "\b", `\b`, "\f", `\f`, "\n", `\n`, "\r", `\r`, "\t", `\t`}
	for c := rune(0); c < ' '; c++ {
		pairs = append(pairs, string(c), fmt.Sprintf(`\u%04x`, c))
	}
	return strings.NewReplacer(pairs...)
}()

// utf16Key sorts as the UTF-16 code units of a name.
func utf16Key(name string) (key string) {
	for _, unit := range utf16.Encode([]rune(name)) {
		key += string([]byte{byte(unit >> 8), byte(unit)})
	}
	return key
}

// decode decodes base64 in its only form (1).
func decode(encoding *base64.Encoding, text string) []byte {
	data, err := encoding.DecodeString(text)
	require(err == nil && encoding.EncodeToString(data) == text, "base64 in its only form")
	return data
}

func decodeURL(text string) []byte { return decode(base64.RawURLEncoding, text) }
func encodeURL(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

func sha256Of(parts ...[]byte) []byte {
	hash := sha256.Sum256(bytes.Join(parts, nil))
	return hash[:]
}

// sha is SHA(text) of the protocol page (1).
func sha(text string) string { return encodeURL(sha256Of([]byte(text))) }

// hashOf returns SHA(JCS(value)), or nil for nil.
func hashOf(value any) any {
	if value == nil {
		return nil
	}
	return sha(jcs(value))
}
