import { expect } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { describedRoutes, openApiPath } from '../../src/docs/openapi.ts';
import { closedDocument } from '../document/closed-document.ts';
import { routeName } from '../route-name.ts';
import type { Verdict } from './judge-answer.ts';

const NAMES = new Set(describedRoutes().map(routeName));
// The document is no schema itself; its formats are for readers.
const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(closedDocument(), 'openapi');
const validators = new Map<string, ValidateFunction>();

/** Asserts that docs/openapi.json has this answer of the route, and that its body is as the schema there says, without more. */
export function expectDocumented(name: string, verdict: Pick<Verdict, 'kind' | 'document'>): void {
  if (!NAMES.has(name) || verdict.document === null) return;
  const [status = '', what = ''] = verdict.kind.split(' ');
  const mediaType = what === 'json' ? 'application/json' : 'application/problem+json';
  const validate = validatorOf(name, status, mediaType);
  if (!validate(verdict.document))
    expect({ name, kind: verdict.kind, errors: validate.errors }).toMatchObject({ errors: null });
}

/** @throws Error when the document does not have the answer. */
function validatorOf(name: string, status: string, mediaType: string): ValidateFunction {
  const [method = '', path = ''] = name.toLowerCase().split(' ');
  const parts = ['paths', openApiPath(path), method, 'responses', status, 'content', mediaType, 'schema'];
  const pointer = parts
    .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
    .join('/');
  const known = validators.get(pointer) ?? ajv.compile({ $ref: `openapi#/${pointer}` });
  validators.set(pointer, known);
  return known;
}
