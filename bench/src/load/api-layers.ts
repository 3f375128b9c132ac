/**
 * The layers between Node and a route of the API. The figure adds them to bare Express in this order. A
 * `reason` says why the layer may cost more than the aim of the figure.
 */
export const API_LAYERS = [
  { id: 'id', name: 'request id, common headers, context', reason: null },
  { id: 'answer', name: 'our answers instead of Express’s json', reason: null },
  {
    id: 'body',
    name: 'body gate and our reading, instead of express.json',
    reason: 'memory is bounded whatever clients send, and a body that breaks off has an answer',
  },
  { id: 'express', name: 'Express’s settings, and Node’s prototypes', reason: null },
  {
    id: 'server',
    name: 'connection limits, order of requests, close in two steps',
    reason:
      'a client that sends many requests at once keeps only its own connection busy, and loses no answer',
  },
  {
    id: 'log',
    name: 'access-log line and request metrics',
    reason: 'each request has its line: redacted field by field, written at once, so that a crash loses none',
  },
  {
    id: 'key',
    name: 'API key: SHA-256, and the row that was found within a second',
    reason: 'the key is in no memory but that of its request; a revoked one is refused within a second',
  },
  { id: 'turns', name: 'turn of the account', reason: null },
  {
    id: 'route',
    name: 'the route: scope, target, fields (zod), answer',
    reason: 'what the route is for: every field is checked, and a fault is named',
  },
] as const;

export type ApiLayer = (typeof API_LAYERS)[number]['id'];
