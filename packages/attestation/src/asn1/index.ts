export * from './tlv.ts'
export * from './values.ts'
export * from './write.ts'
