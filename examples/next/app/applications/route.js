export { submit as POST } from '../../form.js'
