import type { OutgoingHttpHeaders } from 'node:http';
import type { Behaviour } from './behaviour.ts';

const head200 = 'HTTP/1.1 200 OK\r\n';
const kibibyte = Buffer.alloc(1024, 'x');

/** An ordinary answer. The connection stays open. */
export function answer(
  status = 200,
  parts: { headers?: OutgoingHttpHeaders; body?: string | Buffer } = {},
): Behaviour {
  return {
    status,
    play({ response }) {
      response.writeHead(status, parts.headers);
      response.end(parts.body);
    },
  };
}

/** A redirect: 302 unless another 3xx is given. */
export function redirectTo(location: string, status = 302): Behaviour {
  return answer(status, { headers: { location } });
}

/** Waits `ms` before each answer. */
export function takingMs(ms: number, next: Behaviour): Behaviour {
  return {
    status: next.status,
    async play(exchange) {
      await new Promise((resolve) => setTimeout(resolve, ms));
      await next.play(exchange);
    },
  };
}

/** Holds each answer until `gate` resolves. */
export function after(gate: Promise<unknown>, next: Behaviour): Behaviour {
  return {
    status: next.status,
    async play(exchange) {
      await gate;
      await next.play(exchange);
    },
  };
}

/** Sends exactly these bytes, then nothing. The connection stays open. No library sends such bytes. */
export function raw(bytes: string | Buffer, status: number | null = null): Behaviour {
  return { status, play: ({ socket }) => void socket.write(bytes) };
}

/** Answers 200 with an empty body before it has read the request's body, and never reads it. */
export function answerUnread(): Behaviour {
  return { ...raw(`${head200}content-length: 0\r\n\r\n`, 200), beforeBody: true };
}

/** Never sends a byte. */
export function hang(): Behaviour {
  return { status: null, play: () => undefined };
}

/** Sends one byte of the head per interval, without end. */
export function dripHead(intervalMs = 20): Behaviour {
  return {
    status: null,
    play({ socket, every }) {
      socket.write(`${head200}x-drip: `);
      every(intervalMs, () => void socket.write('x'));
    },
  };
}

/** Sends header lines without end, as fast as the client reads. */
export function endlessHead(): Behaviour {
  return {
    status: null,
    play({ socket, pump }) {
      socket.write(head200);
      pump('x-more: 1\r\n'.repeat(100));
    },
  };
}

/** A complete head with one header of this size. */
export function headerBomb(bytes = 65_536): Behaviour {
  return raw(`${head200}x-bomb: ${'x'.repeat(bytes)}\r\ncontent-length: 0\r\n\r\n`);
}

/** Sends a complete head, then one byte of the body per interval, without end. */
export function dripBody(status = 200, intervalMs = 20): Behaviour {
  return {
    status,
    play({ response, every }) {
      response.writeHead(status);
      every(intervalMs, () => void response.write('x'));
    },
  };
}

/** Sends a complete head, then a body without end, as fast as the client reads. */
export function endlessBody(status = 200): Behaviour {
  return {
    status,
    play({ socket, pump }) {
      socket.write(`HTTP/1.1 ${status} Endless\r\n\r\n`);
      pump(kibibyte);
    },
  };
}

/** Sends 101 with or without the headers of an upgrade, then nothing. */
export function switchProtocols(parts: { upgrade: boolean } = { upgrade: true }): Behaviour {
  const headers = parts.upgrade ? 'connection: upgrade\r\nupgrade: websocket\r\n' : '';
  return raw(`HTTP/1.1 101 Switching Protocols\r\n${headers}\r\n`, 101);
}

/** Sends interim heads (100, 102, 103) without end, and no final one. */
export function interimFlood(status: 100 | 102 | 103 = 103): Behaviour {
  return { status: null, play: ({ pump }) => pump(`HTTP/1.1 ${status} Interim\r\n\r\n`) };
}

/** Sends bytes that are not HTTP. */
export function garbage(): Behaviour {
  return raw('SSH-2.0-OpenSSH_9.2\r\n\u0000\u001b[31m\r\n\r\n');
}

/** An HTTP/0.9 answer: a body without a head. */
export function http09(): Behaviour {
  return { status: null, play: ({ socket }) => void socket.end('<html>hello</html>') };
}

/** Two Content-Length headers that differ. */
export function duplicateContentLength(): Behaviour {
  return raw(`${head200}content-length: 1\r\ncontent-length: 2\r\n\r\nxx`);
}

/** TCP RST instead of an answer. */
export function resetBeforeHead(): Behaviour {
  return { status: null, play: ({ reset }) => reset() };
}

/** Orderly end of the connection instead of an answer. */
export function closeWithoutAnswer(): Behaviour {
  return { status: null, play: ({ socket }) => void socket.end() };
}

/** Half of a head, then an orderly end of the connection. */
export function closeInsideHead(): Behaviour {
  return { status: null, play: ({ socket }) => void socket.end(`${head200}content-le`) };
}

/** Sends a complete head that announces a body, then TCP RST. */
export function resetAfterHead(status = 200): Behaviour {
  return {
    status,
    play({ socket, reset }) {
      // Without a delay, the RST would overtake the head.
      socket.write(`HTTP/1.1 ${status} Reset\r\ncontent-length: 100\r\n\r\n`, () => setTimeout(reset, 20));
    },
  };
}

/** Sends a complete head and a part of the announced body, then ends the connection in order. */
export function truncatedBody(status = 200): Behaviour {
  return {
    status,
    play: ({ socket }) => void socket.end(`HTTP/1.1 ${status} Cut\r\ncontent-length: 100\r\n\r\nshort`),
  };
}

/** Sends a complete head, then a body that is not chunked as announced. */
export function malformedBody(status = 200): Behaviour {
  return raw(`HTTP/1.1 ${status} Bad\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nnot a chunk\r\n`, status);
}

/**
 * Answers, and resets the connection when the next request arrives on it: a stale pooled connection.
 * @param onReset is called at each reset
 */
export function answerThenResetNext(status = 200, onReset: () => void = () => undefined): Behaviour {
  return {
    status,
    play({ response, socket, reset }) {
      // Removes the server's own listener, so that the next request is not parsed and not counted.
      response.once('finish', () =>
        socket.removeAllListeners('data').once('data', () => {
          onReset();
          reset();
        }),
      );
      response.writeHead(status, { 'content-length': 0 });
      response.end();
    },
  };
}
