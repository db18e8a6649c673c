package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const tries = 3 // to send a request, and of valid assertions
const timeForm = "2006-01-02T15:04:05.000Z"

var (
	waiting  = map[any]bool{"pending": true, "step_up_required": true}
	settled  = map[any]bool{"bonded": true, "completed": true, "killed": true, "expired": true}
	stepUps  = map[any]bool{"local_auth": true, "sensor_continuity": true}
	showable = map[string]bool{"display": true, "digest": true, "requester": true, "text": true,
		"label": true, "value": true, "kind": true, "name": true, "detail": true,
		"quorum": true, "id": true, "needed": true, "of": true}
)

// phone has a key of the format software. It keeps everything in memory.
type phone struct {
	origin       string
	key          *ecdsa.PrivateKey
	device       object // the response to the registration, with the latest token
	counter      uint32
	server, read time.Time // the last server_time, and when it came
	id, nonce    string    // as scanned
	approvedBy   string    // the nonce of the last approval, which takes it back (16)
	view         object    // the last one. Nil if no request is open
	shows        []any
}

func phoneCommands() map[string]command {
	p := &phone{}
	return map[string]command{"reset": p.reset, "open": p.stopping(p.open),
		"approve": p.stopping(p.approve), "decline": p.stopping(p.decline)}
}

// stopping ends the request if a command stops.
func (p *phone) stopping(run command) command {
	return func(body object) (answer object) {
		if err := try(func() { answer = run(body) }); err != nil {
			p.view, answer = nil, object{"stopped": err.Error()}
		}
		return answer
	}
}

func (p *phone) reset(body object) object {
	*p = phone{origin: get[string](body, "origin")}
	return object{}
}

// qrForm is a QR code (4). The form with the scheme of the service names no origin.
var qrForm = regexp.MustCompile(`^(?:pulse:/|(https?://[^\s/?#@]+))/bond` +
	`\?session_id=(sess_[0-9A-Za-z]{22})&nonce=([0-9A-Za-z_-]{43})$`)

// open claims the session of a QR code, and returns what the user sees.
func (p *phone) open(body object) object {
	match := qrForm.FindStringSubmatch(get[string](body, "text"))
	require(match != nil && (match[1] == "" || match[1] == p.origin), "a QR code of the phone's own origin")
	p.id, p.nonce, p.approvedBy, p.view, p.shows = match[2], match[3], "", nil, nil
	if p.device == nil {
		p.device = p.send("/devices", true, p.registration)
	}
	p.accept(p.claim())
	renewAt, err := time.Parse(time.RFC3339, get[string](p.device, "device_token_renew_at"))
	if err == nil && !p.now().Before(renewAt) {
		p.renew()
	}
	require(waiting[p.view["state"]], "a session that waits for a phone")
	context := get[object](p.view, "context")
	requireShowable(context)
	requireRule(context["quorum"])
	return object{"shown": object{"tenant_name": p.view["tenant_name"], "display": context["display"],
		"requester": context["requester"], "text": context["text"], "quorum": context["quorum"]}}
}

// requireRule stops at a rule of a quorum that cannot be shown as "2 of 3 people must approve" (16).
func requireRule(rule any) {
	members, isObject := rule.(object)
	needed, of := get[float64](members, "needed"), get[float64](members, "of")
	isWhole := needed == math.Trunc(needed) && of == math.Trunc(of)
	isRule := isObject && get[string](members, "id") != "" && needed >= 2 && needed <= of && isWhole
	require(rule == nil || isRule, "a rule of a quorum")
}

// requireShowable stops at a member of a context that the phone does not show.
func requireShowable(part any) {
	members, _ := part.(object)
	for name, member := range members {
		require(showable[name], "a context that the phone can show")
		requireShowable(member)
	}
	items, _ := part.([]any)
	for _, item := range items {
		requireShowable(item)
	}
}

// approve sends evidence and an assertion, and again after a step-up.
func (p *phone) approve(object) object {
	require(p.view != nil, "an open request")
	for round := 0; waiting[p.view["state"]] && round < tries; round++ {
		evidence := get[object](p.send("/evidence", true, p.evidence), "verified_evidence")
		p.accept(p.send("/attestations", false, func() object { return p.assertion(evidence) }))
	}
	return object{"state": p.view["state"]}
}

// decline rejects the request. In a quorum it also takes an approval back, by the nonce of that one (16).
func (p *phone) decline(body object) object {
	require(p.view != nil, "an open request")
	nonce := p.view["nonce"]
	if !waiting[p.view["state"]] {
		isOneOfSeveral := get[object](p.view, "context")["quorum"] != nil
		require(p.view["state"] == "bonded" && isOneOfSeveral, "a request that can be declined")
		nonce = p.approvedBy
	}
	p.accept(p.send("/sessions/"+p.id+"/decline", false, func() object {
		return object{"nonce": nonce, "device_id": p.device["device_id"], "reason": body["reason"]}
	}))
	return object{"state": p.view["state"]}
}

// claim claims the session: first without shows, which older services do not know (4).
func (p *phone) claim() object {
	body := object{"nonce": p.nonce, "device_id": p.device["device_id"]}
	for try := 0; ; try++ {
		view, rejection := p.ask("POST", "/sessions/"+p.id+"/claim", false, func() object { return body })
		switch {
		case rejection == nil:
			return view
		case rejection["reason"] == "device_token_expired" && try < tries:
			p.renew()
		case rejection["param"] == "shows" && p.shows == nil:
			p.shows = []any{"text", "requester", "quorum"}
			body["shows"] = p.shows
		default:
			panic(broken(get[string](rejection, "reason")))
		}
	}
}

// accept checks a view (4), and that it asks for nothing that the user has not seen.
func (p *phone) accept(view object) {
	require(view["id"] == p.id && view["api_base_url"] == p.origin, "the session, at the phone's own origin")
	require(view["state"] != "pending" || view["nonce"] == p.nonce, "the nonce that was claimed")
	require(waiting[view["state"]] || settled[view["state"]], "a known state")
	for _, name := range []string{"tenant_id", "workflow", "action", "context"} {
		require(p.view == nil || reflect.DeepEqual(view[name], p.view[name]), "the "+name+" that was shown")
	}
	for _, stepUp := range get[[]any](get[object](view, "step_up"), "required") {
		require(stepUps[stepUp], "step-ups that the phone can do")
	}
	p.view = view
}

// registration is for a new key and a new challenge (6).
func (p *phone) registration() object {
	challenge := p.send("/devices/challenges", true, func() object { return object{} })
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require(err == nil, "a key")
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require(err == nil, "a public key")
	p.key = key
	return object{"format": "software", "challenge": challenge["challenge"], "public_key": encodeURL(spki)}
}

// renew gets a new token (6).
func (p *phone) renew() {
	path := "/devices/" + get[string](p.device, "device_id") + "/token"
	token := p.send(path, true, func() object {
		return p.sign(object{}, object{"typ": "bonded-device-token/v1", "device_id": p.device["device_id"],
			"subject_id": p.device["subject_id"], "origin": p.origin})
	})
	for name, value := range token {
		p.device[name] = value
	}
}

// evidence is the request of a summary (7). The motion is simulated.
func (p *phone) evidence() object {
	unlocked := object{"result": "verified", "method": "device_credential", "verified_at": p.now().Format(timeForm)}
	motion := object{"window_ms": 1000, "features": []any{
		object{"t_ms": 0, "acc_var": 0.25, "gyro_var": 0.02, "handling": 1}}}
	signals, body := object{"local_auth": unlocked, "sensor_continuity": motion}, p.members()
	body["signals"] = signals
	return p.sign(body, object{"typ": "bonded-evidence-request/v1", "signals": hashOf(signals)})
}

// assertion is what bonds the session (5).
func (p *phone) assertion(evidence object) object {
	body := p.members()
	p.approvedBy = get[string](body, "nonce")
	body["verified_evidence"] = evidence
	if p.shows != nil {
		body["shows"] = p.shows
	}
	return p.sign(body, object{"typ": "bonded-assertion/v1", "tenant_id": p.view["tenant_id"],
		"workflow": p.view["workflow"], "action": p.view["action"], "origin": p.origin,
		"context": hashOf(p.view["context"]), "evidence": hashOf(evidence)})
}

// members returns the texts that both bodies have.
func (p *phone) members() object {
	return object{"session_id": p.id, "nonce": p.view["nonce"],
		"device_id": p.device["device_id"], "subject_id": p.device["subject_id"]}
}

// sign adds issued_at and app_attest to a body. It signs the texts of the body, and payload (5).
func (p *phone) sign(body, payload object) object {
	body["issued_at"] = p.now().Format(timeForm)
	for name, value := range body {
		if _, isText := value.(string); isText {
			payload[name] = value
		}
	}
	p.counter++
	data := append(sha256Of([]byte("software")), 5) // the flags
	data = binary.BigEndian.AppendUint32(data, p.counter)
	hash := sha256Of([]byte(jcs(payload)))
	signature, err := ecdsa.SignASN1(rand.Reader, p.key, sha256Of(data, hash))
	require(err == nil, "a signature")
	body["app_attest"] = object{"key_id": p.device["key_id"], "client_data_hash": encodeURL(hash),
		"authenticator_data": encodeURL(data), "signature": encodeURL(signature)}
	return body
}

// now is the service's time (1).
func (p *phone) now() time.Time { return p.server.Add(time.Since(p.read)).UTC() }

// send posts a body, and stops if the service rejects it.
func (p *phone) send(path string, isRenewed bool, body func() object) object {
	reply, rejection := p.ask("POST", path, isRenewed, body)
	require(rejection == nil, get[string](rejection, "reason"))
	return reply
}

// ask returns the reply of the service, or its rejection. After a lost response it sends a new body,
// or the same bytes (8). If these are rejected, the session says what came of the first ones.
func (p *phone) ask(method, path string, isRenewed bool, body func() object) (object, object) {
	data, isRepeated := "", false
	for try := 0; try < tries; try++ {
		if body != nil && (data == "" || isRenewed) {
			data = jcs(body())
		}
		status, reply := p.exchange(method, path, data)
		rejection := get[object](reply, "error")
		if rejection == nil {
			rejection = object{"reason": http.StatusText(status)}
		}
		switch {
		case status == 0:
			isRepeated = true
		case status/100 == 2:
			return reply, nil
		case rejection["reason"] == "issued_at_out_of_range":
			data = ""
		case isRepeated && !isRenewed && method == "POST" && p.view != nil:
			return p.ask("GET", "/sessions/"+p.id+"?nonce="+p.nonce, false, nil)
		default:
			return nil, rejection
		}
	}
	return nil, object{"reason": "no answer of the service"}
}

// client follows no redirect: the token is for the phone's own origin.
var client = &http.Client{
	Timeout:       10 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// exchange sends a request once, and follows the service's time. The status of a lost response is 0.
func (p *phone) exchange(method, path, body string) (status int, reply object) {
	request, err := http.NewRequest(method, p.origin+"/api/v1"+path, strings.NewReader(body))
	require(err == nil, "a request")
	request.Header.Set("Content-Type", "application/json")
	if p.device != nil {
		request.Header.Set("Authorization", "Bearer "+get[string](p.device, "device_token"))
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if status = response.StatusCode; err != nil || status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		require(seconds <= 10, "a service that answers soon")
		time.Sleep(time.Duration(seconds) * time.Second)
		return 0, nil
	}
	reply = parseObject(data)
	for _, members := range []object{reply, get[object](reply, "error")} {
		if at, err := time.Parse(time.RFC3339, get[string](members, "server_time")); err == nil {
			p.server, p.read = at, time.Now()
		}
	}
	return status, reply
}
