export { blobIdOf, type BlobId } from './blob-id.ts';
export { BlobStoreUnavailableError, type BlobStore, type ByteRange, type ListedBlob } from './blob-store.ts';
export { createBlobStore } from './create-blob-store.ts';
export { createObjectSource } from './create-object-source.ts';
export type { ObjectReading, ObjectSource } from './object-source.ts';
