//! Answers queries, one a line on stdin, from the emitted Rust table. The test of the writers compiles it.

mod table;

fn numbers<T: std::str::FromStr>(text: &str) -> Vec<T>
where
    T::Err: std::fmt::Debug,
{
    text.split(',').map(|n| n.parse().unwrap()).collect()
}

fn triple(text: &str) -> [u32; 3] {
    numbers(text).try_into().unwrap()
}

fn main() {
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let fields: Vec<&str> = line.split('\t').collect();
        let features: Vec<&str> = fields[5].split(',').collect();
        let device = table::Device {
            class: if fields[0] == "-" { None } else { Some(fields[0]) },
            vendor_id: fields[1].parse().unwrap(),
            driver_id: fields[2].parse().unwrap(),
            name: fields[3],
            subgroup_size: fields[4].parse().unwrap(),
            features: &features,
            max_invocations: fields[6].parse().unwrap(),
            max_local_size: triple(fields[7]),
            max_group_count: triple(fields[8]),
        };
        let given = table::Given { storage: fields[9], act: fields[10], acc: fields[11] };
        let v: Vec<i64> = numbers(fields[12]);
        let case = table::Case {
            c_in: v[0],
            c_out: v[1],
            h_out: v[2],
            w_out: v[3],
            batch: v[4],
            kernel_h: v[5],
            kernel_w: v[6],
            groups: v[7],
            stride: v[8],
            ..table::Case::default()
        };
        let pack = match table::pack(&device, &given, &case) {
            Some(values) => values.iter().map(|(a, v)| format!("{a}={v}")).collect::<Vec<_>>().join(","),
            None => "none".into(),
        };
        match table::select(&device, &given, &case) {
            Some(pick) => println!("{} {} {:?} {:?} {}", pack, pick.row.variant, pick.local, pick.groups, pick.is_measured),
            None => println!("{pack} none"),
        }
    }
}
