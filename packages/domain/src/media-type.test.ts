import { expect, test } from '@jest/globals';
import { isMediaType } from './media-type.ts';

test.each([
  'text/plain',
  'Application/PDF',
  'application/vnd.oasis.opendocument.text',
  'image/svg+xml',
  'text/calendar; method=REQUEST; charset="utf-8"',
])('%s is a media type', (text) => {
  expect(isMediaType(text)).toBe(true);
});

test.each([
  '',
  'text',
  'text/',
  '/plain',
  'text/plain/x',
  ' text/plain',
  'text /plain',
  'te\u00fct/plain',
  'text/plain charset=utf-8',
  'text/plain\r\nX-Injected: 1',
  'text/plain;\r\n x=1',
  'text/plain; x="\u00fc"',
  `text/${'x'.repeat(128)}`,
  `text/plain; x=${'y'.repeat(255)}`,
])('%j is none', (text) => {
  expect(isMediaType(text)).toBe(false);
});
