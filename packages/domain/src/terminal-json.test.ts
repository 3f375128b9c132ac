import { expect, test } from '@jest/globals';
import { terminalJson } from './terminal-json.ts';

test('JSON for a terminal has escapes for what the terminal obeys, and the same value', () => {
  const value = {
    'a\u009b': ['\u0000\u001b[2J\u007f\u0080\u009f', '\u202a\u202e\u2066\u2069', 'é\u00a0\u{1f389}'],
  };
  const text = terminalJson(value);
  expect(text).toBe(
    String.raw`{"a\u009b":["\u0000\u001b[2J\u007f\u0080\u009f","\u202a\u202e\u2066\u2069","` +
      'é\u00a0\u{1f389}"]}',
  );
  expect(JSON.parse(text)).toEqual(value);
});
