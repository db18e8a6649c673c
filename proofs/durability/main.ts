import { runProof } from '../run-proof.ts'
import { durabilityCommand } from './command.ts'

await runProof(durabilityCommand())
