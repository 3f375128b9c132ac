import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** One whole answer, its lines joined by LF. Empty when the server closed the connection. */
export type Answer = string;

/** Connects. The greeting is the first answer. @param from the local address. Unset: any */
export async function openSmtpClient(port: number, host = '127.0.0.1', from?: string): Promise<SmtpClient> {
  const socket = connectTcp({ port, host, localAddress: from }).setNoDelay(true); // writes leave at once
  await once(socket, 'connect');
  return new SmtpClient(socket);
}

/** A client that writes any bytes, also such as break the protocol. */
export class SmtpClient {
  #socket: Socket;
  #fingerprint = '';
  #text = '';
  #ended = false;
  readonly #answers: Answer[] = [];
  readonly #waiting: ((answer: Answer) => void)[] = [];
  readonly closed: Promise<void>;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    this.#listen(socket);
  }

  /** Writes and does not wait. */
  write(bytes: string | Buffer): void {
    this.#socket.write(bytes);
  }

  /** The next answer. */
  answer(): Promise<Answer> {
    const next = this.#answers.shift();
    if (next !== undefined) return Promise.resolve(next);
    if (this.#ended) return Promise.resolve('');
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Writes one line and waits for its answer. */
  say(line: string): Promise<Answer> {
    this.write(`${line}\r\n`);
    return this.answer();
  }

  /** All answers until the server closes the connection. */
  async rest(): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (let next = await this.answer(); next !== ''; next = await this.answer()) answers.push(next);
    return answers;
  }

  /** The number of answers that the test has not read. */
  pending(): number {
    return this.#answers.length;
  }

  /** Resolves when the system has taken all written bytes. */
  flushed(): Promise<void> {
    return new Promise((resolve) => this.#socket.write('', () => resolve()));
  }

  /** Starts TLS on the socket, after the answer to STARTTLS. */
  async secure(ca: string, servername: string): Promise<void> {
    this.#socket.removeAllListeners('data');
    const secured = connectTls({ socket: this.#socket, ca, servername });
    await once(secured, 'secureConnect');
    this.#fingerprint = secured.getPeerCertificate().fingerprint256;
    this.#socket = secured;
    this.#text = '';
    this.#listen(secured);
  }

  /** SHA-256 of the server's certificate; empty without TLS. */
  fingerprint(): string {
    return this.#fingerprint;
  }

  /** Cuts the connection. */
  destroy(): void {
    this.#socket.destroy();
  }

  #listen(socket: Socket): void {
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => this.#read(bytes.toString('utf8')));
    socket.once('close', () => {
      this.#ended = true;
      for (const resolve of this.#waiting.splice(0)) resolve('');
    });
  }

  #read(text: string): void {
    this.#text += text;
    for (;;) {
      const whole = /^(?:\d{3}-[^\n]*\n)*\d{3} [^\n]*\n/.exec(this.#text)?.[0];
      if (whole === undefined) return;
      this.#text = this.#text.slice(whole.length);
      const answer = whole.replace(/\r\n/g, '\n').trimEnd();
      const resolve = this.#waiting.shift();
      if (resolve === undefined) this.#answers.push(answer);
      else resolve(answer);
    }
  }
}
