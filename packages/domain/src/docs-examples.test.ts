import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { envelopeBytes } from './envelope.ts';
import { EVENT_DATA } from './event-data.ts';
import { EVENT_TYPES } from './event-types.ts';
import type { EventType } from './event-types.ts';
import { parseId } from './ids.ts';
import type { EventId } from './ids.ts';
import { signatureHeader } from './signature.ts';

interface Example {
  readonly id: string;
  readonly type: EventType;
  readonly subject: string;
  readonly created_at: string;
  readonly data: unknown;
}

function page(name: string): string {
  return readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
}

/** The examples in docs/events.md, by event type. A section's title is the type. */
function examplesByTitle(): Map<string, Example> {
  const sections = page('events.md').matchAll(/^### (\S+)\n([^#]*?)```json\n(.*?)```/gms);
  return new Map([...sections].map(([, title = '', , json = '']) => [title, JSON.parse(json) as Example]));
}

describe('docs/events.md', () => {
  const examples = examplesByTitle();

  test('shows every event type and no other', () => {
    expect([...examples.keys()].sort()).toEqual([...EVENT_TYPES].sort());
  });

  test.each(EVENT_TYPES)('the example of %s is what would be sent', (type) => {
    const example = examples.get(type);
    if (example === undefined) throw new Error(`docs/events.md has no example of ${type}`);
    const data = EVENT_DATA[type].parse(example.data);
    const bytes = envelopeBytes({
      id: example.id as EventId,
      type,
      subject: example.subject,
      createdAt: new Date(example.created_at),
      data: JSON.stringify(data),
    });
    expect(JSON.stringify(example)).toBe(bytes.toString());
    expect(parseId('event', example.id)).toBe(example.id);
    expect(parseId('account', example.subject.split('/')[0] ?? '')).not.toBeNull();
  });
});

test('the test vector of docs/verify-signatures.md is what would be sent', () => {
  const cells = page('verify-signatures.md').matchAll(/^\| (secret|t|body|v1) +\| `(.*?)` +\|$/gm);
  const vector = new Map([...cells].map(([, name = '', value = '']) => [name, value]));
  const t = vector.get('t') ?? '';
  const body = Buffer.from(vector.get('body') ?? '');
  const header = signatureHeader(vector.get('secret') ?? '', body, new Date(Number(t) * 1000));
  expect(header).toBe(`t=${t},v1=${vector.get('v1') ?? ''}`);
});
