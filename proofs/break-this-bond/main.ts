import { runProof } from '../run-proof.ts'
import { gameCommand } from './command.ts'

await runProof(gameCommand())
