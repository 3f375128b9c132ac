import { reasonText, suppressionOrigin } from './resource-schemas.ts';
import type { Refusal } from '../routes/route.ts';
import type { QueryParameter, RouteDoc } from './route-doc.ts';

type Docs = Readonly<Record<string, RouteDoc>>;

const MISSING: readonly Refusal[] = ['not-found'];
const BAD_FIELDS: readonly Refusal[] = ['400 text', '422 text', '400 validation-failed'];

const REASON: QueryParameter = {
  name: 'reason',
  description: 'Where it is blank or missing, the `reason` of the body counts.',
  schema: reasonText,
};
const ORIGIN: QueryParameter = {
  name: 'origin',
  description: 'Only those that came about so.',
  schema: suppressionOrigin,
};

export const SUPPRESSION_DOCS: Docs = {
  'POST /v1/suppressions': {
    operationId: 'addSuppression',
    summary: 'Suppress an address',
    description: '201 where the suppression is new, 200 where the address has one already.',
    request: 'SuppressionRequest',
    success: { status: 201, schema: 'CreatedSuppression', also: 200 },
    refusals: BAD_FIELDS,
  },
  'POST /v1/suppressions/batch/add': {
    operationId: 'addSuppressions',
    summary: 'Suppress many addresses: all of them or none',
    description: '201 where one of them is new, else 200.',
    request: 'SuppressionBatchRequest',
    success: { status: 201, schema: 'CreatedSuppressions', also: 200 },
    refusals: BAD_FIELDS,
  },
  'POST /v1/suppressions/batch/remove': {
    operationId: 'removeSuppressions',
    summary: 'Remove many suppressions: all of them or none',
    request: 'SuppressionBatchRemoval',
    description: 'Those that a complaint has made need a reason, as `?reason=` or in the body.',
    query: [REASON],
    success: { status: 200, schema: 'DeletedSuppressions' },
    refusals: BAD_FIELDS,
  },
  'GET /v1/suppressions': {
    operationId: 'listSuppressions',
    summary: 'List suppressions, newest first',
    success: { status: 200, schema: 'SuppressionPage' },
    paged: true,
    query: [ORIGIN],
    refusals: ['400 validation-failed'],
  },
  'GET /v1/suppressions/:id': {
    operationId: 'getSuppression',
    summary: 'Read a suppression, by its id or its address',
    success: { status: 200, schema: 'Suppression' },
    refusals: MISSING,
  },
  'DELETE /v1/suppressions/:id': {
    operationId: 'removeSuppression',
    summary: 'Remove a suppression, by its id or its address',
    description: 'One that a complaint has made needs a reason, as `?reason=` or in the body.',
    query: [REASON],
    request: 'SuppressionRemoval',
    success: { status: 200, schema: 'DeletedSuppression' },
    refusals: [...MISSING, '400 text', '400 validation-failed'],
  },
};
