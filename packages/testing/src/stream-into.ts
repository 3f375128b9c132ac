import { Writable } from 'node:stream';

/** Makes a stream that puts each write into `lines`. A logger or a command writes one line at a time. */
export function streamInto(lines: string[]): Writable {
  return new Writable({
    write(line: Buffer, _encoding, done) {
      lines.push(line.toString('utf8'));
      done();
    },
  });
}
