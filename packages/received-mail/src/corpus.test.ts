import { describe, expect, test } from '@jest/globals';
import { comparable, samples } from '../test/corpus.ts';
import { parseMessage } from './parse-message.ts';

describe('the corpus', () => {
  test.each(samples.map((sample) => [sample.name, sample.why, sample] as const))(
    '%s: %s',
    async (_name, _why, { raw, expected }) => {
      expect(comparable(await parseMessage(raw))).toMatchObject(expected);
    },
  );
});
