/** Reads objects that others put into S3. */
export interface ObjectSource {
  /**
   * Reads an object whole.
   *
   * @throws BlobStoreUnavailableError when S3 is away, refuses us, or needs longer than the time limit
   */
  read(object: { readonly bucket: string; readonly key: string }): Promise<ObjectReading>;
  /** Breaks off what is read. A reading that begins afterwards fails at once. */
  close(): void;
}

export type ObjectReading =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'gone' }
  | { readonly kind: 'too_big' };
