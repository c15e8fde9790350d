// Energies of four poses a thread: atoms of a ligand, moved by each pose, against those of a protein.
struct Atom { float x, y, z; int type; };
struct Kind { int bond; float radius, contact, charge; };
extern "C" __global__ void dock_energy(int ligands, int proteins, const Atom *ligand, const Atom *protein, const Kind *kinds, int types, const float *poses, float *energy, int n) {
    const int per = 4;
    extern __shared__ Kind near_[];
    for (int k = threadIdx.x; k < types; k += blockDim.x) near_[k] = kinds[k];
    int first = blockIdx.x * blockDim.x * per + threadIdx.x;
    float m[per][12], sum[per];
#pragma unroll
    for (int j = 0; j < per; j++) {
        int at = min(first + j * (int)blockDim.x, n - 1);
        float a = poses[at], b = poses[n + at], c = poses[2 * n + at];
        float sx = __sinf(a), cx = __cosf(a), sy = __sinf(b), cy = __cosf(b), sz = __sinf(c), cz = __cosf(c);
        m[j][0] = cy * cz, m[j][1] = sx * sy * cz - cx * sz, m[j][2] = cx * sy * cz + sx * sz, m[j][3] = poses[3 * n + at];
        m[j][4] = cy * sz, m[j][5] = sx * sy * sz + cx * cz, m[j][6] = cx * sy * sz - sx * cz, m[j][7] = poses[4 * n + at];
        m[j][8] = -sy, m[j][9] = sx * cy, m[j][10] = cx * cy, m[j][11] = poses[5 * n + at];
        sum[j] = 0;
    }
    __syncthreads();
    for (int l = 0; l < ligands; l++) {
        Atom a = ligand[l];
        Kind ka = near_[a.type];
        float x[per], y[per], z[per];
#pragma unroll
        for (int j = 0; j < per; j++) {
            x[j] = m[j][3] + a.x * m[j][0] + a.y * m[j][1] + a.z * m[j][2];
            y[j] = m[j][7] + a.x * m[j][4] + a.y * m[j][5] + a.z * m[j][6];
            z[j] = m[j][11] + a.x * m[j][8] + a.y * m[j][9] + a.z * m[j][10];
        }
        for (int q = 0; q < proteins; q++) {
            Atom b = protein[q];
            Kind kb = near_[b.type];
            float radius = kb.radius + ka.radius, inverse = 1.0f / radius;
            float most = ka.bond == 2 && kb.bond == 2 ? 4.0f : 2.0f, inv_most = ka.bond == 2 && kb.bond == 2 ? 0.25f : 0.5f;
            bool polar = ka.contact * kb.contact > 0.0f;
            float pull = polar ? 0.5f * (ka.contact + kb.contact) : -ka.contact;
            float reach = polar ? 5.5f : 1.0f, charge = ka.charge * kb.charge;
#pragma unroll
            for (int j = 0; j < per; j++) {
                float dx = x[j] - b.x, dy = y[j] - b.y, dz = z[j] - b.z;
                float d = sqrtf(dx * dx + dy * dy + dz * dz), bb = d - radius;
                sum[j] += (1.0f - d * inverse) * (bb < 0.0f ? 38.0f : 0.0f);
                float e = charge * (bb < 0.0f ? 1.0f : 1.0f - bb * inv_most) * (bb < most ? 1.0f : 0.0f);
                if (ka.bond == 2 && kb.bond == 2) e = -fabsf(e);
                sum[j] += e;
                float h = 1.0f - bb * (1.0f / reach), s = pull * (bb < reach ? h : 0.0f);
                sum[j] += bb < 0.0f ? pull : s;
            }
        }
    }
#pragma unroll
    for (int j = 0; j < per; j++)
        if (first + j * (int)blockDim.x < n) energy[first + j * blockDim.x] = 0.5f * sum[j];
}
