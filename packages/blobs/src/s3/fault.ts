import { BlobStoreUnavailableError } from '../blob-store.ts';

/** What the SDK throws: S3's refusals with their status, faults of Node, and faults of its own. */
interface SdkFault extends NodeJS.ErrnoException {
  readonly $metadata: { readonly httpStatusCode?: number };
}

/** AWS's name of a refusal, or the name of what failed. */
export function nameOf(error: unknown): string {
  return (error as Partial<SdkFault>).name ?? '';
}

/** AWS's own words name users, roles and keys and stay in `cause`. The message has names and numbers. */
export function unavailable(store: string, cause: unknown, what = 'blob store'): BlobStoreUnavailableError {
  const { name = 'unknown', code, message = '', $metadata } = cause as Partial<SdkFault>;
  const status = $metadata?.httpStatusCode;
  const plain = name === 'Error' || name === 'S3Silence';
  const words = [code ?? (plain ? message : name), ...(status === undefined ? [] : [`status ${status}`])];
  return new BlobStoreUnavailableError(`the ${what} ${store} is not available (${words.join(', ')})`, {
    cause,
  });
}
