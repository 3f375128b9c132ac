/** Registers a webhook without a limit per account. `webhooks` is a webhook store. */
export async function newWebhook<Request extends { perAccountMax: number }, Created extends { kind: string }>(
  webhooks: { create(request: Request): Promise<Created> },
  request: Omit<Request, 'perAccountMax'>,
): Promise<Extract<Created, { kind: 'created' }>> {
  const created = await webhooks.create({ ...request, perAccountMax: Infinity } as Request);
  if (!isCreated(created)) throw new Error(created.kind);
  return created;
}

function isCreated<Created extends { kind: string }>(
  created: Created,
): created is Extract<Created, { kind: 'created' }> {
  return created.kind === 'created';
}
