import { PROBLEMS } from '@postrider/domain';
import type { ProblemDocument, ProblemSlug } from '@postrider/domain';
import { z } from 'zod';
import type { Documented, Refusal } from '../routes/route.ts';
import { text } from '../routes/schemas.ts';
import type { ExampleSchema, ExampleSchemas } from './answer-examples.ts';
import { ref, schemaName } from './named-schemas.ts';
import type { JsonObject } from './named-schemas.ts';
import { examplesOfProblems, exampleOfText } from './refusal-examples.ts';

/** A refusal with its status. `text`: an answer in plain text. */
interface AnsweredRefusal {
  readonly status: number;
  readonly name: ProblemSlug | 'text';
}

const ANYWHERE: readonly Refusal[] = ['internal', 'not-ready'];

const problem: z.ZodType<ProblemDocument> = z
  .object({
    type: z.string().meta({ format: 'uri', description: 'Match on its last segment, the slug.' }),
    title: text,
    status: z.int(),
    detail: z.string().meta({ description: 'What went wrong this time.' }).exactOptional(),
    instance: z.string().meta({ description: 'The request’s id, also in `x-request-id`.' }),
    errors: z
      .array(z.object({ field: text, message: text }))
      .meta({ description: 'On send routes only: every fault, under its path as written.' })
      .exactOptional(),
    name: z.string().meta({ description: 'The slug with underscores, as Resend’s SDK shows it.' }),
    message: z.string().meta({ description: 'The detail, or the title without one.' }),
    statusCode: z.int().meta({ description: 'The status again.' }),
  })
  .meta({ id: 'Problem' });

/** A refusal is a slug, which has its own status, or a status with a slug or `text`: `422 text`. */
function answeredRefusal(refusal: Refusal): AnsweredRefusal {
  if (isSlug(refusal)) return { status: PROBLEMS[refusal].status, name: refusal };
  const [status, name] = refusal.split(' ') as [string, AnsweredRefusal['name']];
  return { status: Number(status), name };
}

function isSlug(refusal: Refusal): refusal is ProblemSlug {
  return refusal in PROBLEMS;
}

/** Every refusal of a route: its own, and those that follow from its scope and limit. */
export function refusalsOf(route: Documented): readonly AnsweredRefusal[] {
  const common: Refusal[] = route.scope === null ? [] : ['api-key-unauthorized', 'api-key-forbidden'];
  if (route.scope !== null && route.limited) common.push('rate-limited');
  common.push('request-too-large'); // every route refuses a large body, also one that ignores it
  return [...common, ...route.docs.refusals, ...ANYWHERE].map(answeredRefusal);
}

/** The response of a route with one of the statuses of `refusalsOf`. */
export function refusalResponse(
  route: Documented,
  status: number,
  names: readonly AnsweredRefusal['name'][],
  schemas: ExampleSchemas,
): JsonObject {
  const slugs = names.filter((name) => name !== 'text');
  const content: Record<string, JsonObject> = {};
  if (slugs.length > 0) {
    const type = { pattern: `/(${slugs.join('|')})$` };
    content['application/problem+json'] = {
      schema: { ...ref(problem), properties: { type } },
      examples: examplesOfProblems(route, status, slugs),
    };
  }
  if (names.includes('text')) {
    const { request } = route.docs;
    const required = request === undefined ? [] : requiredFields(schemas[schemaName(request)]);
    content['text/plain; charset=utf-8'] = {
      schema: { type: 'string' },
      example: exampleOfText(route, status, required),
    };
  }
  const titles = names.map((name) => (name === 'text' ? 'A short plain text' : `\`${name}\``));
  return { description: `${titles.join(', or ')}.`, content };
}

/** The fields that a body must have, or that its first form must have. `a or b`: one of two is enough. */
function requiredFields({ required, allOf, anyOf }: ExampleSchema = {}): readonly string[] {
  if (required !== undefined) return required;
  if (allOf !== undefined)
    return allOf.map((part) => (part.anyOf ?? []).flatMap(requiredFields).join(' or '));
  return anyOf?.[0] === undefined ? [] : requiredFields(anyOf[0]);
}
