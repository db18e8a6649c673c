import { serveBench } from './bench-service.ts'

/** The service in its own process, for software phones. */
await serveBench()
