"""A model server that misbehaves on request. misbehaving_server.py [CERT KEY]

Binds a free loopback port, prints it, and ends when its standard input closes. The first part of a request's path
chooses what happens, the second is the caller's own name for its requests:

  POST /SCENARIO/NAME/...   the scenario's answer to this name's n-th request
  GET  /requests/NAME       what NAME has asked so far, as JSON: [{path, headers, body}]

With CERT and KEY it speaks TLS.
"""
import json
import socket
import socketserver
import sys
import threading
import time

requests, lock = {}, threading.Lock()


def chunk(text, **more):
    """One chat.completion.chunk, as OpenAI's API reference prints it."""
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "served-1",
            "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}], **more}


FINISH = {**chunk(""), "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USAGE = {**chunk(""), "choices": [], "usage": {
    "prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17,
    "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 5}}}


def event(value):
    return b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n"


ANSWER = event(chunk("Hello, ")) + event(chunk("world.")) + event(FINISH) + event(USAGE) + event(b"[DONE]")


class Handler(socketserver.StreamRequestHandler):
    persistence = "Connection: close\r\n"

    def handle(self):
        try:
            line = self.rfile.readline().decode().split()
            if len(line) < 2:
                return
            headers = {}
            while (header := self.rfile.readline().strip()):
                key, _, value = header.decode().partition(":")
                headers[key.strip().lower()] = value.strip()
            body = self.rfile.read(int(headers.get("content-length", 0)))
            parts = line[1].split("?")[0].split("/")
            if parts[1] == "requests":
                with lock:
                    self.whole(200, requests.get(parts[2], []))
                return
            with lock:
                seen = requests.setdefault(parts[2], [])
                seen.append({"path": line[1], "headers": headers, "body": body.decode()})
                self.number = len(seen)
            self.key = headers.get("authorization", "").removeprefix("Bearer ")
            getattr(self, "do_" + parts[1])()
        except OSError:
            pass  # the client has seen enough; TLS errors are OSErrors too

    # ---- pieces ----

    def head(self, status, content_type="text/event-stream", **more):
        text = f"HTTP/1.1 {status} Status\r\nContent-Type: {content_type}\r\n{self.persistence}"
        for key, value in more.items():
            text += f"{key.replace('_', '-')}: {value}\r\n"
        self.wfile.write((text + "\r\n").encode())

    def whole(self, status, value, **more):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.head(status, "application/json", Content_Length=len(body), **more)
        self.wfile.write(body)

    def start(self, **more):
        self.head(200, "text/event-stream; charset=utf-8", Transfer_Encoding="chunked", x_request_id="req-1", **more)

    def send(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def end(self):
        self.wfile.write(b"0\r\n\r\n")

    def stream(self, data):
        self.start()
        self.send(data)
        self.end()

    def error(self, status, code, message, **more):
        self.whole(status, {"error": {"message": message, "type": "error", "param": None, "code": code}}, **more)

    def wait_for_client(self):
        """Holds the connection, in silence, until the client closes it (or a minute has passed)."""
        self.connection.settimeout(60)
        try:
            self.connection.recv(1)
        except OSError:
            pass

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    # ---- well-behaved ----

    def do_ok(self):
        self.stream(ANSWER)

    def do_whole_json(self):
        self.whole(200, {"id": "c", "object": "chat.completion", "model": "served-1", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Hello, world."}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17}})

    def do_gzip(self):
        import gzip  # here and below: a test starts this program each time, and most need none of these
        self.start(Content_Encoding="gzip")
        data = gzip.compress(ANSWER)
        self.send(data[:20])
        self.send(data[20:])
        self.end()

    def do_byte_by_byte(self):
        text = event(json.dumps(chunk("Grüße, 世界 🚀"), ensure_ascii=False).encode()) + event(FINISH) + event(b"[DONE]")
        self.start()
        for byte in text:
            self.send(bytes([byte]))
        self.end()

    def do_lingers(self):
        self.start()
        self.send(ANSWER)
        self.wait_for_client()

    def do_promises_to_stay(self):
        """Lets the client keep the connection for its next request, and closes it."""
        self.persistence = ""
        self.do_ok()

    def do_five_megabytes(self):
        self.start()
        for _ in range(80):
            self.send(event(chunk("x" * 65536)))
        self.send(event(FINISH) + event(USAGE) + event(b"[DONE]"))
        self.end()

    def do_five_megabytes_in_one_event(self):
        self.start()
        self.send(event(chunk("x" * 5242880)) + event(FINISH) + event(b"[DONE]"))
        self.end()

    def do_slow(self):
        """Twenty tokens, 50 ms apart: for many parallel requests."""
        self.start()
        for _ in range(20):
            self.send(event(chunk("x" * 200)))
            time.sleep(0.05)
        self.send(event(FINISH) + event(USAGE) + event(b"[DONE]"))
        self.end()

    # ---- asks for patience ----

    def do_429_then_ok(self):
        self.do_ok() if self.number > 2 else self.error(429, "rate_limit_exceeded", "Rate limit reached")

    def do_429_seconds_then_ok(self):
        self.do_ok() if self.number > 1 else self.error(429, "rate_limit_exceeded", "Rate limit", Retry_After=1)

    def do_429_date_then_ok(self):
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 2))
        self.do_ok() if self.number > 1 else self.error(429, "rate_limit_exceeded", "Rate limit", Retry_After=date)

    def do_429_an_hour(self):
        self.error(429, "rate_limit_exceeded", "Rate limit reached", Retry_After=3600)

    def do_429_always(self):
        self.error(429, "rate_limit_exceeded", "Rate limit reached")

    def do_no_money(self):
        self.error(429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing")

    def do_500_then_ok(self):
        self.do_ok() if self.number > 1 else self.error(500, None, "The server had an error")

    def do_503_always(self):
        self.whole(503, b"<html>upstream is down</html>")

    # ---- refuses ----

    def do_401_quotes_the_key(self):
        key = self.key
        self.error(401, "invalid_api_key", f"Incorrect API key provided: {key}, or {key[:10]}***{key[-9:]}.")

    def do_404(self):
        self.error(404, "model_not_found", "The model `m` does not exist or you do not have access to it.")

    def do_redirect(self):
        self.head(307, Location="http://127.0.0.1:1/elsewhere", Content_Length=0)

    # ---- breaks off ----

    def do_cut_before_a_token_then_ok(self):
        if self.number > 1:
            return self.do_ok()
        self.start()
        self.reset()

    def do_cut_then_ok(self):
        self.do_ok() if self.number > 1 else self.do_cut()

    def do_cut(self):
        self.start()
        self.send(event(chunk("Hello, ")))

    def do_ends_early(self):
        self.stream(event(chunk("Hello, ")))

    def do_ends_inside_an_event(self):
        self.stream(event(chunk("Hello, ")) + event(chunk("world."))[:40])

    def do_no_answer(self):
        self.reset()

    # ---- talks nonsense ----

    def do_malformed_event(self):
        self.stream(event(chunk("Hello, ")) + event(b'{"choices": [{"delta": {"content": ') + ANSWER)

    def do_event_is_a_number(self):
        self.stream(event(b"42") + ANSWER)

    def do_html(self):
        body = b"<!DOCTYPE html><title>Sign in to the hotel network</title>"
        self.head(200, "text/html", Content_Length=len(body))
        self.wfile.write(body)

    def do_not_http(self):
        self.wfile.write(b"220 mail.example ESMTP\r\n")

    def do_huge_headers(self):
        self.head(200, **{f"x-filler-{i}": "y" * 1000 for i in range(100)})

    def do_bad_gzip(self):
        self.start(Content_Encoding="gzip")
        self.send(b"this is not gzip" * 10)
        self.end()

    def do_half_utf8(self):
        rocket = "🚀".encode()
        first = json.dumps(chunk("a@")).encode().replace(b"@", rocket[:2])
        second = json.dumps(chunk("@b")).encode().replace(b"@", rocket[2:])
        self.stream(event(first) + event(second) + event(FINISH) + event(b"[DONE]"))

    def do_half_surrogates(self):
        self.stream(event(chunk("a\ud83d")) + event(chunk("\ude80b")) + event(FINISH) + event(b"[DONE]"))

    def do_lost_half(self):
        broken = json.dumps(chunk("a@b")).encode().replace(b"@", "🚀".encode()[:2])
        self.stream(event(broken) + event(FINISH) + event(b"[DONE]"))

    def do_error_event(self):
        self.stream(event(chunk("Hello")) + event({"error": {"message": "engine is dead", "code": 500}}))

    # ---- is slow ----

    def do_silent_from_the_start(self):
        self.wait_for_client()

    def do_silent_after_head(self):
        self.start()
        self.wait_for_client()

    def do_silent_after_a_token(self):
        self.start()
        self.send(event(chunk("Hello, ")))
        self.wait_for_client()

    def do_only_comments(self):
        self.start()
        while True:
            self.send(b": still working\n\n")
            time.sleep(0.02)

    def do_drip(self):
        self.start()
        while True:
            self.send(event(chunk("x")))
            time.sleep(0.02)

    # ---- ways an answer can end ----

    def finish_with(self, reason, delta=None):
        value = {**chunk(""), "choices": [{"index": 0, "delta": delta or {}, "finish_reason": reason}]}
        self.stream((b"" if delta else event(chunk("Hello"))) + event(value) + event(USAGE) + event(b"[DONE]"))

    def do_length(self):
        self.finish_with("length")

    def do_filtered(self):
        self.finish_with("content_filter")

    def do_refused(self):
        self.finish_with("stop", {"refusal": "I can't help with that."})

    def do_nothing_said(self):
        self.finish_with("stop", {"content": "  \n"})

    def do_only_reasoning(self):
        self.finish_with("stop", {"reasoning_content": "hm"})

    def do_echoes_the_key(self):
        self.stream(event(chunk("your key is " + self.key)) + event(FINISH) + event(b"[DONE]"))

    # ---- the other two protocols ----

    def do_anthropic(self):
        def named(kind, **value):
            return f"event: {kind}\ndata: {json.dumps({'type': kind, **value})}\n\n".encode()
        self.stream(
            named("message_start", message={"id": "msg_1", "type": "message", "role": "assistant", "content": [],
                                            "model": "claude-x", "stop_reason": None,
                                            "usage": {"input_tokens": 3, "cache_creation_input_tokens": 20,
                                                      "cache_read_input_tokens": 100, "output_tokens": 1}})
            + named("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""})
            + named("ping")
            + named("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "think "})
            + named("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "EqQB"})
            + named("content_block_stop", index=0)
            + named("content_block_start", index=1, content_block={"type": "text", "text": ""})
            + named("content_block_delta", index=1, delta={"type": "text_delta", "text": "Hello"})
            + named("content_block_stop", index=1)
            + named("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None},
                    usage={"output_tokens": 40, "output_tokens_details": {"thinking_tokens": 30}})
            + named("message_stop"))

    def do_anthropic_cut(self):
        self.start()
        self.send(event({"type": "message_start", "message": {"model": "claude-x", "usage": {
            "input_tokens": 3, "output_tokens": 1}}})
            + event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}}))

    def do_gemini(self):
        def part(text, **more):
            return {"candidates": [{"content": {"parts": [{"text": text, **more}], "role": "model"}, "index": 0}],
                    "modelVersion": "gemini-x", "responseId": "resp-1"}
        last = part("lo")
        last["candidates"][0]["finishReason"] = "STOP"
        last["usageMetadata"] = {"promptTokenCount": 8, "candidatesTokenCount": 5, "thoughtsTokenCount": 20,
                                 "totalTokenCount": 33}
        self.stream(event(part("plan", thought=True)) + event(part("Hel")) + event(last))


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # a client that goes away is what half of the scenarios are about


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    if len(sys.argv) > 2:
        import ssl
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
