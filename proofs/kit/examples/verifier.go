package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"math"
	"math/bits"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func verifierCommands() map[string]command {
	return map[string]command{"check/receipts": answering(checkReceipt), "check/logs": answering(checkLog),
		"check/quorums": answering(checkQuorum)}
}

// answering answers with the rule that an input does not keep, or null.
func answering(check func(input object)) command {
	return func(input object) object {
		var reason any
		if err := try(func() { check(input) }); err != nil {
			reason = err.Error()
		}
		return object{"valid": reason == nil, "reason": reason}
	}
}

// keysOf returns the Ed25519 keys of the member jwks by their ids.
func keysOf(input object) map[any]ed25519.PublicKey {
	keys := map[any]ed25519.PublicKey{}
	for _, item := range get[[]any](get[object](input, "jwks"), "keys") {
		if key, _ := item.(object); key["kty"] == "OKP" && key["crv"] == "Ed25519" {
			public := decodeURL(get[string](key, "x"))
			require(len(public) == ed25519.PublicKeySize, "a key of 32 bytes")
			keys[get[string](key, "kid")] = public
		}
	}
	return keys
}

// checkReceipt verifies the receipt of a session of one user. One approval of several is rejected alone (13).
func checkReceipt(input object) {
	claims := verifyReceipt(input, keysOf(input))
	for name, claim := range map[string]string{"issuer": "iss", "tenant_id": "aud", "session_id": "session_id"} {
		expected, isGiven := input[name]
		require(!isGiven || claims[claim] == expected, "the expected "+name)
	}
	require(get[object](claims, "context")["quorum"] == nil, "a session of one user (16)")
}

// verifyReceipt verifies what the members receipt and proof show, and returns the claims (13).
func verifyReceipt(members object, keys map[any]ed25519.PublicKey) object {
	receipt := get[string](members, "receipt")
	claims := openReceipt(receipt, keys)
	verifyApproval(claims)
	if members["proof"] != nil {
		verifyProof(get[string](members, "proof"), receipt, get[string](claims, "log_origin"), keys)
	}
	return claims
}

// longestWindow is between the first request and the last approval of a quorum (16).
const longestWindow = 24 * time.Hour

// checkQuorum verifies receipts as the approval of several users (16). The first rule that one of them
// does not keep is the reason, so all receipts are held against a rule before the next one.
func checkQuorum(input object) {
	keys, all := keysOf(input), []object{}
	for _, item := range get[[]any](input, "receipts") {
		members, _ := item.(object)
		all = append(all, verifyReceipt(members, keys))
	}
	require(len(all) > 0, "too_few_receipts") // which also leaves a first one to compare with
	each := func(reason string, isKept func(claims object) bool) {
		for _, claims := range all {
			require(isKept(claims), reason)
		}
	}
	context := get[object](all[0], "context")
	quorum := get[object](context, "quorum")
	needed := get[float64](quorum, "needed") // 0, which is too low, if it is no number
	each("tenant_mismatch", func(claims object) bool { return claims["aud"] == get[string](input, "tenant_id") })
	each("workflow_mismatch", func(claims object) bool { return claims["workflow"] == get[string](input, "workflow") })
	each("quorum_mismatch", func(claims object) bool {
		same := func(name string) bool { return reflect.DeepEqual(claims[name], all[0][name]) }
		return quorum != nil && same("iss") && same("action") && same("context")
	})
	require(context["digest"] == get[string](input, "digest"), "digest_mismatch")
	require(needed >= math.Max(get[float64](input, "minimum"), 2), "needed_too_low")
	each("not_completed", func(claims object) bool {
		return claims["state"] == "completed" && claims["outcome"] == "accepted"
	})
	users, phones := map[string]bool{"": true}, map[string]bool{"": true} // "" is a missing one
	each("user_repeated", func(claims object) bool {
		user, key := get[string](claims, "subject_ref"), get[string](get[object](claims, "phone"), "public_key")
		isRepeated := users[user] || phones[key]
		users[user], phones[key] = true, true
		return !isRepeated
	})
	require(float64(len(all)) >= needed, "too_few_receipts")
	each("too_far_apart", func(last object) bool {
		each("too_far_apart", func(first object) bool {
			return timeOf(last, "bonded_at").Sub(timeOf(first, "created_at")) <= longestWindow
		})
		return true
	})
}

// timeOf reads a time in the form of the service (1). One that cannot be read is near no other.
func timeOf(claims object, name string) time.Time {
	at, err := time.Parse(timeForm, get[string](claims, name))
	require(err == nil, "too_far_apart")
	return at
}

// openReceipt returns the claims of a receipt that one of the keys has signed.
func openReceipt(receipt string, keys map[any]ed25519.PublicKey) object {
	parts := strings.Split(receipt, ".")
	require(len(parts) == 3, "a compact JWS")
	header := parseObject(decodeURL(parts[0]))
	require(header["alg"] == "EdDSA" && header["typ"] == "bonded-receipt+jwt" && header["crit"] == nil, "the header")
	key, isKnown := keys[get[string](header, "kid")]
	require(isKnown, "a key of the service")
	require(ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), decodeURL(parts[2])), "the signature of the service")
	return parseObject(decodeURL(parts[1]))
}

// verifyApproval verifies that the phone signed what the claims say.
func verifyApproval(claims object) {
	phone := get[object](claims, "phone")
	payload := parseObject([]byte(get[string](phone, "payload")))
	require(jcs(payload) == phone["payload"], "the canonical form of the payload")
	expected := object{"typ": "bonded-assertion/v1", "session_id": get[string](claims, "session_id"),
		"tenant_id": get[string](claims, "aud"), "workflow": claims["workflow"], "action": claims["action"],
		"origin": get[string](claims, "iss"), "context": hashOf(claims["context"])}
	for member, value := range expected {
		signed, isThere := payload[member]
		require(isThere && reflect.DeepEqual(signed, value), member+" of the payload")
	}
	require(get[string](phone, "format") == claims["device_format"], "the format of the phone")
	verifyPhone(phone, get[string](claims, "iss"))
}

// verifyPhone verifies the signature of a phone by the rules of its format (5).
func verifyPhone(phone object, origin string) {
	const layout = "the layout of authenticator_data"
	format, payload := get[string](phone, "format"), get[string](phone, "payload")
	data, message := decodeURL(get[string](phone, "authenticator_data")), []byte(payload)
	require(len(data) >= 37, layout)
	flags, hasMap := data[32], len(data) > 37 && data[37]>>5 == 5 // one map of CBOR
	require(hasMap || len(data) == 37, layout)
	isApple, isWebAuthn := format == "apple-app-attest", format == "webauthn"
	require(isApple || isWebAuthn || format == "software" || format == "android-key", "a known format")
	require(isApple || isWebAuthn || !hasMap, layout)
	require((phone["client_data_json"] != nil) == isWebAuthn, "client data of webauthn only")
	if isWebAuthn {
		message = decodeURL(get[string](phone, "client_data_json"))
		verifyClientData(parseObject(message), sha(payload), origin)
		require(hasMap == (flags&0x80 != 0), layout)
		require(flags&0x05 == 0x05, "a user who is present and verified")
		require(flags&0x18 != 0x10, "consistent backup flags")
	}
	digest := sha256Of(data, sha256Of(message))
	if isApple {
		digest = sha256Of(digest)
	}
	key, signature := parseKey(get[string](phone, "public_key")), decodeURL(get[string](phone, "signature"))
	require(ecdsa.VerifyASN1(key, digest, signature), "the signature of the phone")
}

// verifyClientData checks what a browser has signed with the payload (5).
func verifyClientData(data object, challenge, origin string) {
	require(data["type"] == "webauthn.get", "the type of the client data")
	require(data["challenge"] == challenge, "the challenge of the client data")
	require(data["origin"] == origin, "the origin of the client data")
	crossOrigin, isThere := data["crossOrigin"]
	_, hasTop := data["topOrigin"]
	require((!isThere || crossOrigin == false) && !hasTop, "no frame of another origin")
}

// parseKey reads a key on P-256 as SPKI.
func parseKey(text string) *ecdsa.PublicKey {
	parsed, err := x509.ParsePKIXPublicKey(decodeURL(text))
	key, isECDSA := parsed.(*ecdsa.PublicKey)
	require(err == nil && isECDSA && key.Curve == elliptic.P256(), "a key on P-256")
	return key
}

var (
	// proofForm is the part of a proof before its checkpoint (c2sp.org/tlog-proof).
	proofForm = regexp.MustCompile(`^c2sp\.org/tlog-proof@v1\n(?:extra .*\n)*index (0|[1-9]\d*)\n((?:\S+\n)*)\n`)
	// randomPart ends the name of a log that continues a closed one.
	randomPart = regexp.MustCompile(`/[0-9A-Za-z_-]{22}$`)
)

// verifyProof verifies that the log has a receipt.
func verifyProof(proof, receipt, origin string, keys map[any]ed25519.PublicKey) {
	match := proofForm.FindStringSubmatch(proof)
	require(match != nil, "a proof")
	log := openCheckpoint(proof[len(match[0]):], keys)
	require(randomPart.ReplaceAllString(log.origin, "") == randomPart.ReplaceAllString(origin, ""), "the receipt's log")
	index, leaf := parseSize(match[1]), sha256Of([]byte{0}, sha256Of([]byte(receipt)))
	require(index < log.size, "an index below the size")
	require(bytes.Equal(rootOf(index, log.size, leaf, parseHashes(match[2])), log.root), "the log has the receipt")
}

// checkpoint is the name, the size and the root of a log.
type checkpoint struct {
	origin string
	size   uint64
	root   []byte
}

// noteForm is a checkpoint as a note (c2sp.org/signed-note): three lines, and signatures.
var noteForm = regexp.MustCompile(`^((\S+)\n(0|[1-9]\d*)\n(\S+)\n)\n((?:— \S+ \S+\n)+)$`)

// openCheckpoint reads a checkpoint that one of the keys signed under the name of the log.
func openCheckpoint(note string, keys map[any]ed25519.PublicKey) checkpoint {
	match := noteForm.FindStringSubmatch(note)
	require(match != nil, "a checkpoint")
	text, name, isSigned := match[1], match[2], false
	for _, line := range strings.Split(match[5], "\n") {
		signature, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(line, "— "+name+" "))
		for _, key := range keys {
			id := sha256Of([]byte(name+"\n\x01"), key)[:4] // 1 is Ed25519
			isSigned = isSigned || err == nil && bytes.HasPrefix(signature, id) &&
				ed25519.Verify(key, []byte(text), signature[len(id):])
		}
	}
	require(isSigned, "a checkpoint that the service signed")
	return checkpoint{name, parseSize(match[3]), parseHash(match[4])}
}

func parseSize(text string) uint64 {
	size, err := strconv.ParseUint(text, 10, 63)
	require(err == nil, "a number")
	return size
}

func parseHash(text string) []byte {
	hash := decode(base64.StdEncoding, text)
	require(len(hash) == 32, "a hash of 32 bytes")
	return hash
}

// parseHashes reads a hash on each line.
func parseHashes(text string) (hashes [][]byte) {
	for _, line := range strings.Fields(text) {
		hashes = append(hashes, parseHash(line))
	}
	return hashes
}

// node is the hash of two subtrees (RFC 9162, 2.1.1).
func node(left, right []byte) []byte { return sha256Of([]byte{1}, left, right) }

// leftOf returns the size of the left subtree of a tree with several leaves.
func leftOf(size uint64) uint64 { return 1 << (bits.Len64(size-1) - 1) }

// cut takes the last hash off a proof.
func cut(proof [][]byte) (rest [][]byte, last []byte) {
	require(len(proof) > 0, "a proof with enough hashes")
	return proof[:len(proof)-1], proof[len(proof)-1]
}

// rootOf returns the root that an inclusion proof leads to (RFC 9162, 2.1.3).
func rootOf(index, size uint64, leaf []byte, proof [][]byte) []byte {
	if size == 1 {
		require(len(proof) == 0, "a proof without further hashes")
		return leaf
	}
	rest, last := cut(proof)
	if left := leftOf(size); index >= left {
		return node(last, rootOf(index-left, size-left, leaf, rest))
	}
	return node(rootOf(index, leftOf(size), leaf, rest), last)
}

// rootsOf returns the roots at both sizes that a consistency proof leads to (RFC 9162, 2.1.4). known
// is the root at the older size, and nil in a subtree that is only a part of the older tree.
func rootsOf(older, newer uint64, known []byte, proof [][]byte) (was, is []byte) {
	if older == newer {
		if known == nil {
			proof, known = cut(proof)
		}
		require(len(proof) == 0, "a proof without further hashes")
		return known, known
	}
	rest, last := cut(proof)
	left := leftOf(newer)
	if older <= left {
		was, is = rootsOf(older, left, known, rest)
		return was, node(is, last)
	}
	was, is = rootsOf(older-left, newer-left, nil, rest)
	return node(last, was), node(last, is)
}

// checkLog verifies that the newer log begins with all entries of the older (13).
func checkLog(input object) {
	keys := keysOf(input)
	older, newer := openCheckpoint(get[string](input, "older"), keys), openCheckpoint(get[string](input, "newer"), keys)
	proof := parseHashes(get[string](input, "proof"))
	require(older.origin == newer.origin && older.size <= newer.size, "one log that has not shrunk")
	if older.size == 0 && newer.size > 0 {
		require(len(proof) == 0 && bytes.Equal(older.root, sha256Of()), "the root of no entries, and no hashes")
		return
	}
	was, is := rootsOf(older.size, newer.size, older.root, proof)
	require(bytes.Equal(was, older.root) && bytes.Equal(is, newer.root), "a log that only grew")
}
