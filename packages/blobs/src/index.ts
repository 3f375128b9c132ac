export { blobIdOf, type BlobId } from './blob-id.ts';
export {
  BlobStoreUnavailableError,
  type BlobStore,
  type ByteRange,
  type ListedBlob,
  type OpenBlob,
} from './blob-store.ts';
export { createObjectSource, type ObjectReading, type ObjectSource } from './object-source.ts';
export { createBlobStore, type BlobStoreOptions } from './create-blob-store.ts';
