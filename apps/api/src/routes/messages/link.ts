import type { LinkTarget, LinkTokens } from '@postrider/domain';

/** What makes and reads the links to the bytes of received mail. */
export interface LinkMaker {
  readonly tokens: LinkTokens;
  /** Where the world reaches the API; undefined: where each request does. */
  readonly publicUrl: string | undefined;
}

/** What an answer says of a link. @param origin of the request. */
export function linkTo({ tokens, publicUrl }: LinkMaker, origin: string, target: LinkTarget) {
  const { token, expiresAt } = tokens.seal(target);
  return { download_url: `${publicUrl ?? origin}/links/${token}`, expires_at: expiresAt.toISOString() };
}
