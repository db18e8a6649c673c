export { session as POST } from '../../form.js'
