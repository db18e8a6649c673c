import { serveBench } from '../bench-service.ts'
import { measureServer } from './server-measures.ts'

/** The service for two tenants, one of which floods it. Rate limits count but reject nothing. */
await serveBench({ tenants: 2, measures: measureServer() })
