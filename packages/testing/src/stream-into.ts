import { Writable } from 'node:stream';

/** A stream for a logger or a command, which write one line at a time. Puts each line into `lines`. */
export function streamInto(lines: string[]): Writable {
  return new Writable({
    write(line: Buffer, _encoding, done) {
      lines.push(line.toString('utf8'));
      done();
    },
  });
}
