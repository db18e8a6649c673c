export default {
  headers: async () => [
    { source: '/', headers: [{ key: 'content-security-policy', value: "frame-ancestors 'none'" }] },
  ],
}
