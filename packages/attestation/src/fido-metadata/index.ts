export { FIDO_COMPROMISED, type FidoEntry, packedRoots } from './entry.ts'
export {
  FIDO_METADATA_URL,
  type FidoMetadata,
  type FidoMetadataOptions,
  type FidoMetadataStep,
  readFidoMetadata,
} from './read-metadata.ts'
