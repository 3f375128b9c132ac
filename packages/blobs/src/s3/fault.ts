import { BlobStoreUnavailableError } from '../blob-store.ts';

/** An error of the SDK: a refusal by S3 with its status, an error of Node, or an error of the SDK itself. */
interface SdkFault extends NodeJS.ErrnoException {
  readonly $metadata: { readonly httpStatusCode?: number };
}

/** Returns the name that AWS gives to the error. */
export function nameOf(error: unknown): string {
  return (error as Partial<SdkFault>).name ?? '';
}

/**
 * The message has only names and numbers, or the words of a plain `Error`. The words of AWS name users, roles
 * and keys, so they stay in `cause`.
 */
export function unavailable(store: string, cause: unknown, what = 'blob store'): BlobStoreUnavailableError {
  const { name = 'unknown', code, message = '', $metadata } = cause as Partial<SdkFault>;
  const status = $metadata?.httpStatusCode;
  const words = [
    code ?? (name === 'Error' ? message : name),
    ...(status === undefined ? [] : [`status ${status}`]),
  ];
  return new BlobStoreUnavailableError(`the ${what} ${store} is not available (${words.join(', ')})`, {
    cause,
  });
}
