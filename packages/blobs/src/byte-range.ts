import type { ByteRange } from './blob-store.ts';

/** @throws RangeError when a position is not a whole number from 0, or the end comes before the start */
export function checkRange({ start, end }: ByteRange): void {
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end) return;
  throw new RangeError(`not a range of bytes: ${start}-${end}`);
}

export function pastEndError({ start }: ByteRange): RangeError {
  return new RangeError(`a range that starts at byte ${start}, past the end of the blob`);
}
