import { expect, test } from '@jest/globals';
import { GatheredBytes } from './gathered-bytes.ts';

test.each([[[]], [[0]], [[5, 0, 3]], [Array.from({ length: 300 }, () => 1)], [[70_000, 1, 140_000, 65_536]]])(
  'chunks of %p bytes come out as they went in',
  (sizes: number[]) => {
    const sent = Buffer.from(Array.from({ length: sizes.reduce((a, b) => a + b, 0) }, (_, at) => at % 251));
    const bytes = new GatheredBytes();
    let at = 0;
    for (const size of sizes) bytes.add(sent.subarray(at, (at += size)));
    expect(bytes.length).toBe(sent.length);
    expect(bytes.whole().equals(sent)).toBe(true);
  },
);
