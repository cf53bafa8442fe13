import type { NextConfig } from 'next'

// Next must not bundle a native library.
const nextConfig: NextConfig = { serverExternalPackages: ['@photostructure/sqlite'] }

export default nextConfig
