import { html } from '@remix-run/html-template';
import { parseId, timeOfId } from '@postrider/domain';
import type { Noun } from '@postrider/domain';
import { notFound } from '../http/refusal.ts';
import type { Refusal } from '../http/refusal.ts';
import type { Visit } from '../http/serve-page.ts';
import type { Part } from '../html/pieces.ts';
import { day, duration } from '../html/words.ts';

/** The id in the path `/…/:id`. @throws Refusal (404), which shows the noun, when the text is no id. */
export function idOf<N extends Noun>(noun: N, { params, now }: Pick<Visit, 'params' | 'now'>) {
  const text = params['id'] ?? '';
  const id = parseId(noun, text);
  if (id === null) throw noSuch(noun, text, now);
  return id;
}

/** The refusal (404) of an id that nothing has. @param kept says how long such things are kept */
export function noSuch(word: string, id: string, now: Date, kept: Part = ''): Refusal {
  const madeAt = timeOfId(id);
  const age = madeAt === null ? null : (now.getTime() - madeAt.getTime()) / 1000;
  return notFound(
    html`No ${word} has the id <code>${id}</code>.`,
    madeAt === null || age === null || age < 0
      ? kept
      : html`The id is from ${day(madeAt)}, ${duration(age)} ago. ${kept}`,
  );
}
