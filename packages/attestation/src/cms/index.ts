export * from './signed-data.ts'
