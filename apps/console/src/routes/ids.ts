import { html } from '@remix-run/html-template';
import { parseId } from '@postrider/domain';
import { notFound } from '../http/refusal.ts';
import type { Refusal } from '../http/refusal.ts';
import type { Visit } from '../http/serve-page.ts';
import { day, duration } from '../html/words.ts';

type Noun = Parameters<typeof parseId>[0];

/** The id in the path `/…/:id`. @throws Refusal (404) when it is none. */
export function idOf<N extends Noun>(noun: N, word: string, { params, now }: Pick<Visit, 'params' | 'now'>) {
  const text = params['id'] ?? '';
  const id = parseId(noun, text);
  if (id === null) throw noSuch(word, text, now);
  return id;
}

/** @param kept says how long such things are kept */
export function noSuch(word: string, id: string, now: Date, kept = ''): Refusal {
  const madeAt = timeOf(id);
  const age = madeAt === null ? null : (now.getTime() - madeAt.getTime()) / 1000;
  return notFound(
    html`No ${word} has the id <code>${id}</code>.`,
    madeAt === null || age === null || age < 0
      ? kept
      : html`The id is from ${day(madeAt)}, ${duration(age)} ago. ${kept}`,
  );
}

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME = /^[a-z]+_([0-7][0-9a-hjkmnp-tv-z]{9})[0-9a-hjkmnp-tv-z]{16}$/;

/** An id begins with its time: ten characters of a ULID. */
function timeOf(id: string): Date | null {
  const [, written] = TIME.exec(id) ?? [];
  if (written === undefined) return null;
  const milliseconds = Array.from(written).reduce((sum, digit) => sum * 32 + DIGITS.indexOf(digit), 0);
  const at = new Date(milliseconds);
  return Number.isNaN(at.getTime()) ? null : at;
}
